"""The engine `openai`, for servers of the OpenAI API.

They are one or several, running already or started by accgate.
"""
