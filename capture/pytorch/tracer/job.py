"""A built-in model with its plan and settings, from words of the command line."""

import dataclasses

from models import catalogue
from parallel import plan as plans, plan as trainings


class NotPossible(Exception):
    """One sentence on what cannot be traced."""


@dataclasses.dataclass
class Job:
    description: object
    plan: object
    settings: object


def of(options):
    """Raises NotPossible with the reason."""
    description = catalogue.find(options["model"])
    if description is None:
        raise NotPossible(f"there is no model {options['model']}: `orrery trace --list` names those "
                          "that are built in; a config.json of Transformers and a script (-- "
                          "train.py) work too")
    try:
        plan = plans.Plan.from_options(
            world=options["world"], dp=options["dp"], tp=options["tp"], pp=options["pp"],
            fsdp=options["fsdp"], ddp=options["ddp"],
            sequence_parallel=options["sequence_parallel"], microbatches=options["microbatches"],
            schedule=options["schedule"], layers=description.layers)
        settings = trainings.Settings.from_options(
            description, batch=options["batch"], sequence=options["sequence"],
            dtype=options["dtype"], accumulation=options["accumulation"],
            optimizer=options["optimizer"], ddp_hook=options["ddp_hook"])
    except ValueError as error:
        raise NotPossible(str(error)) from error
    return Job(description, plan, settings)
