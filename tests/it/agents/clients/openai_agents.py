"""Runs OpenAI's Agents SDK with restitch's tools against a scripted model.

openai_agents.py PORT COMMAND ARGUMENTS...
"""
import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI


async def main():
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{sys.argv[1]}/v1", api_key="none")
    params = {"command": sys.argv[2], "args": sys.argv[3:]}
    async with MCPServerStdio(params=params, cache_tools_list=True) as server:
        model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)
        agent = Agent(name="editor", instructions="Edit.", model=model, mcp_servers=[server],
                      mcp_config={"convert_schemas_to_strict": True})
        print((await Runner.run(agent, "edit", max_turns=20)).final_output)


asyncio.run(main())
