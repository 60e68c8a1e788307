"""Drives `restitch mcp` by the official Python client and prints what it saw as JSON.

client.py stdio COMMAND ROOT | client.py http URL TOKEN
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

    async def call(name, arguments, **more):
        result = await session.call_tool(name, arguments, **more)
        return {
            "error": bool(result.is_error),
            "text": result.content[0].text,
            "ok": result.structured_content["ok"],
            "code": result.structured_content["code"],
        }

    out["calls"] = {
        "edit": await call("edit", {"file_path": "a.txt", "old_string": "two", "new_string": "zwei"}, progress_callback=on_progress),
        "absent": await call("edit", {"file_path": "a.txt", "old_string": "nowhere at all", "new_string": "x"}),
        "malformed": await call("edit_file", {"path": "a.txt", "old_strr": "x"}),
        "unknown": await call("no_such_tool", {}),
        "patch": await call("apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.txt\n-three\n+drei\n*** End Patch"}),
        "read": await call("read_file", {"path": "a.txt"}),
        "lines": await call("edit_lines", {"path": "a.txt", "start_line": 1, "end_line": 1, "new_content": "eins"}),
        "undo": await call("undo", {}),
        "outside": await call("edit_file", {"path": "../x", "old_str": "a", "new_str": "b"}),
    }
    out["progress"] = steps


async def main():
    out = {}
    if sys.argv[1] == "stdio":
        server = StdioServerParameters(command=sys.argv[2], args=["mcp", "--root", sys.argv[3]])
        async with stdio_client(server) as (read, write):
            async with ClientSession(read, write) as session:
                await drive(session, out)
    else:
        http = create_mcp_http_client(headers={"Authorization": f"Bearer {sys.argv[3]}"})
        async with streamable_http_client(sys.argv[2], http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await drive(session, out)
    print(json.dumps(out))


asyncio.run(main())
