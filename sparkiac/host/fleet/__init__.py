"""The fleet timer: it asks the endpoints of the fleet and sends messages."""
