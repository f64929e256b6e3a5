"""All strangers by name."""

import first_half
import second_half

MODELS = {**first_half.MODELS, **second_half.MODELS}
