"""restitch's tools in the OpenAI Agents SDK: python restitch_openai_agents.py TASK"""

import sys
from functools import partial
from typing import Any

from agents import Agent, FunctionTool, Runner

from restitch_edit import AsyncEngine


def restitch_tools(engine: AsyncEngine) -> list[Any]:
    async def run(name: str, _context: object, arguments: str) -> str:
        return (await engine.call(name, arguments)).message

    return [
        FunctionTool(tool["name"], tool["description"], tool["parameters"], partial(run, tool["name"]))
        for tool in engine.tools("openai-responses")
    ]


if __name__ == "__main__":
    agent = Agent(name="editor", instructions="Edit the files.", tools=restitch_tools(AsyncEngine(".")))
    print(Runner.run_sync(agent, sys.argv[1], max_turns=100).final_output)
