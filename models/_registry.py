"""Registry of the models by name, and of the user's models that jobs name."""

from aggopt.core.registry import Registry
from aggopt.models._model import Model
from aggopt.models.shared.user_model import adopt_model

MODELS = Registry(
    "aggopt.models", Model, "model", plugin_kind="models", adopt=adopt_model
)
