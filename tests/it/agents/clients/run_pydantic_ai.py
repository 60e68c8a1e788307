"""Runs pydantic-ai with restitch's tools against a scripted model.

run_pydantic_ai.py PORT COMMAND ARGUMENTS...
"""
import asyncio
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main():
    provider = OpenAIProvider(base_url=f"http://127.0.0.1:{sys.argv[1]}/v1", api_key="none")
    model = OpenAIChatModel("scripted", provider=provider)
    transport = StdioTransport(command=sys.argv[2], args=sys.argv[3:])
    async with Agent(model, toolsets=[MCPToolset(transport)]) as agent:
        print((await agent.run("edit")).output)


asyncio.run(main())
