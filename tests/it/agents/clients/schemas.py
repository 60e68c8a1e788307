"""Checks restitch's declarations by the providers' own packages.

schemas.py COMMAND: runs `COMMAND schema FORMAT` for each format and prints what was checked.
"""
import json
import subprocess
import sys

from agents.strict_schema import ensure_strict_json_schema
from anthropic.types import ToolParam
from google.genai import types
from mcp.types import Tool
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import ConfigDict, TypeAdapter, with_config


def declared(name):
    out = subprocess.run([sys.argv[1], "schema", name], check=True, capture_output=True)
    return json.loads(out.stdout)


def strict(schema):
    """OpenAI's own conversion finds nothing to change."""
    given = json.dumps(schema, sort_keys=True)
    assert json.dumps(ensure_strict_json_schema(schema), sort_keys=True) == given, given


def closed(kind):
    """A typed dictionary that takes no key which its provider does not name."""
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(kind))


# Google's types refuse every keyword they do not know.
for group in declared("gemini"):
    tool = types.Tool.model_validate(group)
    for function in tool.function_declarations:
        assert function.parameters.type == types.Type.OBJECT, function.name
    print("gemini", len(tool.function_declarations))

tools = declared("anthropic")
for tool in tools:
    closed(ToolParam).validate_python(tool)
print("anthropic", len(tools))

tools = declared("openai")
for tool in tools:
    TypeAdapter(ChatCompletionToolParam).validate_python(tool)
    assert tool["function"]["strict"] is True
    strict(tool["function"]["parameters"])
print("openai", len(tools))

tools = declared("openai-responses")
for tool in tools:
    closed(FunctionToolParam).validate_python(tool)
    strict(tool["parameters"])
print("openai-responses", len(tools))

tools = declared("mcp")["tools"]
for tool in tools:
    Tool.model_validate(tool)
print("mcp", len(tools))
