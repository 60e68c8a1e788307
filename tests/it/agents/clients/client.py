"""Drives `restitch mcp` by the official Python client and prints what it saw as JSON.

client.py CALLS stdio COMMAND ARGUMENTS... | client.py CALLS http URL TOKEN
CALLS is a JSON file: the tools to call and their arguments.
The client itself checks every structured answer against the tool's output schema.
"""
import asyncio
import json
import sys

import jsonschema
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def drive(session, out):
    init = await session.initialize()
    out["server"] = init.server_info.name
    tools = (await session.list_tools()).tools
    out["tools"] = sorted(tool.name for tool in tools)
    out["annotated"] = all(tool.annotations is not None for tool in tools)
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    steps = []

    async def on_progress(progress, total, message):
        steps.append(message)

    calls = []
    for order in json.load(open(sys.argv[1])):
        # Progress is asked for on the first call only.
        more = {} if calls else {"progress_callback": on_progress}
        result = await session.call_tool(order["tool"], order["arguments"], **more)
        calls.append({
            "error": bool(result.is_error),
            "text": result.content[0].text,
            "ok": result.structured_content["ok"],
            "code": result.structured_content["code"],
        })
    out["calls"] = calls
    out["progress"] = steps


async def main():
    out = {}
    if sys.argv[2] == "stdio":
        server = StdioServerParameters(command=sys.argv[3], args=sys.argv[4:])
        async with stdio_client(server) as (read, write):
            async with ClientSession(read, write) as session:
                await drive(session, out)
    else:
        http = create_mcp_http_client(headers={"Authorization": f"Bearer {sys.argv[4]}"})
        async with streamable_http_client(sys.argv[3], http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await drive(session, out)
    print(json.dumps(out))


asyncio.run(main())
