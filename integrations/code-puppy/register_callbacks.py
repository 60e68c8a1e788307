"""restitch behind code_puppy's `replace_in_file`, for the change and for the preview of it."""

import sys
from typing import Any

from code_puppy.tools import file_modifications

from restitch_edit import Refused, apply

_NAME = "apply_replacements_to_content"
_original = getattr(file_modifications, _NAME)


def apply_replacements_to_content(content: str, replacements: list[dict[str, Any]]) -> dict[str, Any]:
    """Each replacement is matched against the text as the ones before it left it."""
    for one in replacements:
        old, new = one.get("old_str", ""), one.get("new_str", "")
        done = apply(content, old, new, replace_all=bool(one.get("replace_all")))
        if isinstance(done, Refused):
            return {"error": done.message}
        content = done.text
    return {"content": content}


# The preview has its own name for the function.
for _module in list(sys.modules.values()):
    if getattr(_module, _NAME, None) is _original:
        setattr(_module, _NAME, apply_replacements_to_content)
