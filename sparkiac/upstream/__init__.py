"""Clients for registries, the model hub, file servers and machines. No other package uses the network."""
