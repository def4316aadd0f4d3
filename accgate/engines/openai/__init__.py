"""The engine `openai`: servers of the OpenAI API, one or several, running already or started by accgate."""
