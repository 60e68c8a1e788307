"""Runs a LangChain agent with restitch's tools, by langchain-mcp-adapters, against a scripted
model.

run_langchain.py PORT COMMAND ARGUMENTS...
"""
import asyncio
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI


async def main():
    server = {"transport": "stdio", "command": sys.argv[2], "args": sys.argv[3:]}
    # One session for all calls: without it each call starts a server of its own.
    async with MultiServerMCPClient({"restitch": server}).session("restitch") as session:
        tools = await load_mcp_tools(session)
        base = f"http://127.0.0.1:{sys.argv[1]}/v1"
        agent = create_agent(ChatOpenAI(model="scripted", base_url=base, api_key="none"), tools)
        out = await agent.ainvoke({"messages": [("user", "edit")]})
        print(out["messages"][-1].content)


asyncio.run(main())
