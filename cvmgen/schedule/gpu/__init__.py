"""How the iterations of a nest become threads of a GPU."""
