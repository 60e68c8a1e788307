#!/bin/sh
# Installs the client programs that tests/it/agents/clients drives, each in this version, into
# target/clients (needs npm and PyPI; about 2.5 GB). Without it those tests skip and say so.
set -u
cd "$(dirname "$0")/../../../.."
mkdir -p target/clients
cd target/clients
[ -f package.json ] || echo '{"private":true,"type":"module"}' > package.json
for package in @anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 \
    opencode-ai@1.18.33 @github/copilot@1.0.102 ai@6.0.326 @ai-sdk/openai-compatible@2.0.91 @ai-sdk/mcp@1.0.101 \
    @qwen-code/qwen-code@0.24.4 cline@3.0.65 @modelcontextprotocol/inspector@2.12.0; do
    npm install --silent --no-fund --no-audit "$package" || echo "could not install $package"
done
[ -x venv/bin/python ] || python3 -m venv venv
for package in openai-agents==0.24.0 'pydantic-ai-slim[openai,mcp]==2.68.0' claude-agent-sdk==0.2.187 \
    google-genai==3.4.0 anthropic==2.12.0; do
    venv/bin/pip -q install "$package" || echo "could not install $package"
done
# LangChain wants other versions of the same packages.
[ -x venv-langchain/bin/python ] || python3 -m venv venv-langchain
venv-langchain/bin/pip -q install langchain-mcp-adapters==0.3.2 langchain-openai==1.7.3 langchain==1.4.7 || echo "could not install langchain-mcp-adapters"
