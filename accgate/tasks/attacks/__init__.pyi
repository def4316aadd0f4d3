from .attack import Attack, CannotAttack, attack_row, attack_text

__all__ = ["Attack", "CannotAttack", "attack_row", "attack_text"]
