"""Output that several commands share: findings, and blocks of terminal pages."""
