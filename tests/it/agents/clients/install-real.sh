#!/bin/sh
# Installs the client programs that tests/it/agents/clients drives, each in this version, into
# target/clients (needs npm and PyPI; about 1.5 GB). Without it those tests skip and say so.
set -u
cd "$(dirname "$0")/../../../.."
mkdir -p target/clients
cd target/clients
[ -f package.json ] || echo '{"private":true,"type":"module"}' > package.json
for package in @anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 \
    opencode-ai@1.18.33 @github/copilot@1.0.102 ai@6.0.326 @ai-sdk/openai-compatible@2.0.91 @ai-sdk/mcp@1.0.101; do
    npm install --silent --no-fund --no-audit "$package" || echo "could not install $package"
done
[ -x venv/bin/python ] || python3 -m venv venv
venv/bin/pip -q install openai-agents==0.24.0 || echo "could not install openai-agents"
