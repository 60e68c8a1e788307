"""readme.py PAGE…: runs each Python example of the pages, as an installed package sees it.

Each runs in a new folder that has the file the pages speak of. An example that shows what becomes
of that file must have `math.pi` in its output.
"""

import contextlib
import io
import os
import re
import sys
import tempfile

FILE = "def area(r):\n    return 3 * r ** 2\n"
CALL = {"path": "area.py", "old_str": "return 3 * r**2", "new_str": "return math.pi * r**2"}

ran = 0
for page in sys.argv[1:]:
    with open(page, encoding="utf-8") as text:
        blocks = re.findall(r"```python\n(.*?)```", text.read(), re.S)
    for number, block in enumerate(blocks, 1):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.makedirs("src")
            for name, content in {"area.py": FILE, "src/app.py": "old text\n"}.items():
                with open(name, "w", encoding="utf-8") as out:
                    out.write(content)
            os.environ["RESTITCH_STATE_DIR"] = os.path.join(folder, "state")
            # What the reader of a page has already: the text of a file, and a call of the model.
            names = {"file": FILE, "name": "edit_file", "arguments": CALL}
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(block, f"{page}, example {number}", "exec"), names)
            if "print(" in block and "math.pi * r ** 2" not in said.getvalue() and "Engine" not in block:
                sys.exit(f"{page}, example {number} prints {said.getvalue()!r}")
            if "reply" in names and names["arguments"] is CALL and "call(name" in block:
                assert names["reply"].ok, names["reply"].message
            os.chdir("/")
        ran += 1
if ran == 0:
    sys.exit("there is no example")
print(f"ran: {ran} Python examples")
