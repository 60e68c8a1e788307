"""restitch behind deepagents' own `edit_file`, on the disk: python deepagents_agent.py TASK"""

import sys

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import EditResult

from restitch_edit import Engine, Refused


class RestitchBackend(FilesystemBackend):
    """The same files; `edit` applies what the model meant, or says what to send instead."""

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        engine = Engine(self.cwd)
        done = engine.edit(file_path.lstrip("/"), old_string, new_string, replace_all=replace_all)
        if isinstance(done, Refused):
            return EditResult(error=done.message)
        return EditResult(path=file_path, occurrences=done.replacements)


if __name__ == "__main__":
    agent = create_deep_agent("openai:gpt-5.2", backend=RestitchBackend(".", virtual_mode=True))
    print(agent.invoke({"messages": [("user", sys.argv[1])]})["messages"][-1].text)
