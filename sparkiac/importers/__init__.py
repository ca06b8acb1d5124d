"""Foreign recipes, command lines and containers → drafts of an inventory, with a report of what was lost."""
