"""restitch behind OpenHands' `file_editor`: python restitch_openhands.py TASK"""

import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.tool import register_tool
from openhands.tools.file_editor.definition import FileEditorAction, FileEditorObservation, FileEditorTool
from openhands.tools.file_editor.impl import FileEditorExecutor

from restitch_edit import Engine


class RestitchExecutor(FileEditorExecutor):
    """Views are OpenHands' own; edits and `undo_edit` are restitch's."""

    def __init__(self, workspace_root: str) -> None:
        super().__init__(workspace_root=workspace_root)
        self.engine = Engine(workspace_root)
        self.revisions: dict[str, list[int]] = defaultdict(list)

    def __call__(self, action: FileEditorAction, conversation: Any = None) -> FileEditorObservation:
        if action.command == "view":
            return super().__call__(action, conversation)
        before = _text(action.path)
        made = self.revisions[action.path]
        if action.command == "undo_edit":
            reply = self.engine.call("undo", {"revision": made.pop()} if made else {"revision": 0})
        else:
            reply = self.engine.call("str_replace_based_edit_tool", action.model_dump(
                include={"command", "path", "file_text", "old_str", "new_str", "insert_line"}, exclude_none=True
            ))
            if reply.ok and reply.report.get("revision") is not None:
                made.append(reply.report["revision"])
        return FileEditorObservation.from_text(
            text=reply.message, command=action.command, is_error=not reply.ok, path=action.path,
            prev_exist=before is not None, old_content=before, new_content=_text(action.path),
        )


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return None


class RestitchFileEditor(FileEditorTool):
    name = "file_editor"

    @classmethod
    def create(cls, conv_state: Any) -> Sequence[FileEditorTool]:
        executor = RestitchExecutor(conv_state.workspace.working_dir)
        return [tool.set_executor(executor) for tool in super().create(conv_state)]


register_tool(FileEditorTool.name, RestitchFileEditor)


if __name__ == "__main__":
    llm = LLM(model="openai/gpt-4.1", base_url=os.environ.get("OPENAI_BASE_URL"), api_key=os.environ["OPENAI_API_KEY"])
    agent = Agent(llm=llm, tools=[Tool(name=FileEditorTool.name)])
    conversation = Conversation(agent=agent, workspace=os.getcwd())
    conversation.send_message(sys.argv[1])
    conversation.run()
