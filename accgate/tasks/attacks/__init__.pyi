from .attack import Attack, CannotAttack, attacked, attacked_row

__all__ = ["Attack", "CannotAttack", "attacked", "attacked_row"]
