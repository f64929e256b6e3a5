"""Regions for the layers of a model. Backward operators find their layer by PyTorch's sequence numbers."""

import threading
import weakref


class Hooks:
    """The hooks that were set."""

    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []


def name_layers(model, name, region):
    """Sets hooks on every module of the model. A forward that raises leaves no region open: `always_call`."""
    handles = []
    for path, module in model.named_modules(prefix=name):
        opened = []

        def enter(_module, _inputs, opened=opened, path=path or type(model).__name__):
            opened.append(region(path).__enter__())

        def leave(_module, _inputs, _output, opened=opened):
            if opened:
                opened.pop().__exit__()

        handles.append(module.register_forward_pre_hook(enter))
        handles.append(module.register_forward_hook(leave, always_call=True))
    return Hooks(handles)


class _Paths:
    """The paths of modules in the model that is called; each model is searched once."""

    def __init__(self):
        self._of_model = weakref.WeakKeyDictionary()

    def of(self, model, module):
        if model not in self._of_model:
            self._of_model[model] = {id(part): path for path, part in model.named_modules()}
        return self._of_model[model].get(id(module)) or type(module).__name__


class _Stack(threading.local):
    """Regions that are open on this thread, with the modules they are of."""

    def __init__(self):
        self.opened = []


def name_all_layers(torch, region):
    """Does so for every model that the program calls: paths are those in the outermost module."""
    stack, paths = _Stack(), _Paths()

    def enter(module, _inputs):
        model = stack.opened[0][0] if stack.opened else module
        stack.opened.append((module, region(paths.of(model, module)).__enter__()))

    def leave(_module, _inputs, _output):
        if stack.opened:
            stack.opened.pop()[1].__exit__()

    hooks = torch.nn.modules.module
    return Hooks([hooks.register_module_forward_pre_hook(enter),
                  hooks.register_module_forward_hook(leave, always_call=True)])
