"""restitch's tools in smolagents: python restitch_smolagents.py TASK"""

import os
import sys
from typing import Any

from smolagents import OpenAIModel, Tool, ToolCallingAgent

from restitch_edit import Engine


class RestitchTool(Tool):
    output_type = "string"
    skip_forward_signature_validation = True

    def __init__(self, engine: Engine, tool: dict[str, Any]) -> None:
        self.engine, self.name, self.description = engine, tool["name"], tool["description"]
        required = tool["input_schema"].get("required", [])
        fields = tool["input_schema"]["properties"].items()
        self.inputs = {
            name: {"description": "", **field, "type": field.get("type", "any"), "nullable": name not in required}
            for name, field in fields
        }
        super().__init__()

    def forward(self, **arguments: Any) -> str:
        return self.engine.call(self.name, arguments).message


if __name__ == "__main__":
    engine = Engine(".")
    tools = [RestitchTool(engine, tool) for tool in engine.tools("anthropic")]
    model = OpenAIModel("gpt-5.2", api_base=os.environ.get("OPENAI_BASE_URL"))
    print(ToolCallingAgent(tools=tools, model=model, max_steps=100).run(sys.argv[1]))
