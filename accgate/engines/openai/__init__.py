"""The engine `openai`, for one or several servers of the OpenAI API.

They run already, or accgate starts one.
"""
