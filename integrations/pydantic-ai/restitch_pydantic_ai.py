"""restitch's tools in PydanticAI: python restitch_pydantic_ai.py TASK"""

import sys
from functools import partial
from typing import Any

from pydantic_ai import Agent, Tool

from restitch_edit import AsyncEngine


def restitch_tools(engine: AsyncEngine) -> list[Tool[Any]]:
    async def run(name: str, **arguments: Any) -> str:
        return (await engine.call(name, arguments)).message

    return [
        Tool.from_schema(partial(run, tool["name"]), tool["name"], tool["description"], tool["input_schema"])
        for tool in engine.tools("anthropic")
    ]


if __name__ == "__main__":
    agent = Agent("openai:gpt-5.2", instructions="Edit the files.", tools=restitch_tools(AsyncEngine(".")))
    print(agent.run_sync(sys.argv[1]).output)
