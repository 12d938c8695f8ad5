"""One file per instance format; :mod:`allocsolve.instances.registry` lists them."""
