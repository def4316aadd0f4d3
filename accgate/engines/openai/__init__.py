"""The engine `openai`: servers of the OpenAI API, one or several, running already or started by accgate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
