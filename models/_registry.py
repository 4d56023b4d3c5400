"""Registry of the models by name, and of the user's models that jobs name."""

from aggopt.core.registry import Registry
from aggopt.models._model import Model
from aggopt.models.shared.user_model import adopted

MODELS = Registry("aggopt.models", Model, "model", own="models", adopt=adopted)
