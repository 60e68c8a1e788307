"""restitch's tools in LangChain: python restitch_langchain.py TASK"""

import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool

from restitch_edit import Engine


def restitch_tool(engine: Engine, tool: dict[str, Any]) -> StructuredTool:
    def run(**arguments: Any) -> str:
        return engine.call(tool["name"], arguments).message

    return StructuredTool(
        name=tool["name"], description=tool["description"], args_schema=tool["input_schema"], func=run
    )


if __name__ == "__main__":
    engine = Engine(".")
    tools = [restitch_tool(engine, tool) for tool in engine.tools("anthropic")]
    agent = create_agent("openai:gpt-5.2", tools=tools)
    result = agent.invoke({"messages": [("user", sys.argv[1])]}, {"recursion_limit": 200})
    print(result["messages"][-1].text)
