"""Runs the Claude Agent SDK, with the Claude Code that it brings, against a scripted model.

run_claude_sdk.py PORT COMMAND ARGUMENTS...
"""
import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, query


async def main():
    server = {"command": sys.argv[2], "args": sys.argv[3:], "alwaysLoad": True}
    options = ClaudeAgentOptions(
        model="claude-sonnet-4-5",
        allowed_tools=["mcp__restitch"],
        mcp_servers={"restitch": server},
        env={"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{sys.argv[1]}", "ANTHROPIC_API_KEY": "none"},
    )
    async for message in query(prompt="edit", options=options):
        print(message)


asyncio.run(main())
