// Counts what a client's model received of one answer of each kind: `tokens.mjs PROGRAMS BODY…` prints, for
// each request body (a snapshot client-*-body.json, `-` for stdin), the tokens of the success and of the
// refusal, in OpenAI's encoding o200k_base.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [programs, ...bodies] = process.argv.slice(2);
const require = createRequire(resolve(programs, "package.json"));
const { getEncoding } = require("js-tiktoken");
const encoding = getEncoding("o200k_base");

/// An answer as the model gets it: its text, or the JSON that stands for it.
const text = (content) => {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((part) => part.text ?? JSON.stringify(part)).join("\n");
  return JSON.stringify(content);
};

/// The answers to calls, in order; a call that is answered in several items has one.
const answers = (body) => {
  const found = new Map();
  const add = (id, content) => found.set(id, (found.get(id) ?? "") + text(content));
  const next = () => found.size;
  for (const { role, content } of body.messages ?? []) {
    if (role === "tool") add(next(), content);
    for (const block of Array.isArray(content) ? content : []) {
      if (block.type === "tool_result") add(next(), block.content);
    }
  }
  let call = null;
  for (const item of body.input ?? []) {
    if (item.type === "message" || !item.type) call = null;
    else if (item.type.endsWith("_call")) call = null;
    else if (item.type.endsWith("_call_output")) add((call ??= next()), item.output);
  }
  for (const { parts } of body.contents ?? []) {
    for (const part of parts ?? []) {
      if (part.functionResponse) add(next(), part.functionResponse.response);
    }
  }
  return [...found.values()];
};

for (const body of bodies) {
  const given = JSON.parse(readFileSync(body === "-" ? 0 : body, "utf8"));
  // The script of the test: read, a success, a refusal.
  const [, success, refusal] = answers(given);
  console.log(`${encoding.encode(success).length} ${encoding.encode(refusal).length}`);
}
