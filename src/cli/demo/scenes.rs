//! The scenes of the demo, each with a file and a call.

/// A file, and a call of `edit_file` for it.
pub(super) struct Scene {
    pub(super) title: &'static str,
    pub(super) path: &'static str,
    pub(super) file: &'static str,
    pub(super) old: &'static str,
    pub(super) new: &'static str,
}

/// Ten scenes with repaired edits, then four with refused ones.
pub(super) const SCENES: &[Scene] = &[
    Scene {
        title: "Every line one tab too few",
        path: "server.go",
        file: "func serve(c *Conn) {\n\tfor {\n\t\tif err := c.Next(); err != nil {\n\t\t\treturn\n\t\t}\n\t}\n}\n",
        old: "if err := c.Next(); err != nil {\n\treturn\n}",
        new: "if err := c.Next(); err != nil {\n\tlog.Println(err)\n\treturn\n}",
    },
    Scene {
        title: "Escaped once too often",
        path: "hello.py",
        file: "def main():\n    print(\"Hello\")\n    print(\"World\")\n",
        old: "print(\\\"Hello\\\")\\n    print(\\\"World\\\")",
        new: "print(\\\"Hello, World\\\")",
    },
    Scene {
        title: "Other quotes, and a semicolon that is not there",
        path: "config.js",
        file: "const API_URL = \"https://old.api/v1\"\nconst RETRIES = 3\n",
        old: "const API_URL = 'https://old.api/v1';",
        new: "const API_URL = 'https://new.api/v2';",
    },
    Scene {
        title: "Line numbers copied from a view",
        path: "list.rs",
        file: "fn first(list: &[u8]) -> u8 {\n    list[0]\n}\n",
        old: "1|fn first(list: &[u8]) -> u8 {\n2|    list[0]\n3|}",
        new: "1|fn first(list: &[u8]) -> Option<u8> {\n2|    list.first().copied()\n3|}",
    },
    Scene {
        title: "Spaces where the file has tabs",
        path: "main.c",
        file: "int main(void)\n{\n\tif (ready()) {\n\t\tstart();\n\t}\n}\n",
        old: "    if (ready()) {\n        start();\n    }",
        new: "    if (ready()) {\n        prepare();\n        start();\n    }",
    },
    Scene {
        title: "Straight quotes for typographic ones",
        path: "letter.md",
        file: "Dear reader,\n\nthis is “the” letter – and it’s short.\n",
        old: "this is \"the\" letter - and it's short.",
        new: "this is \"the\" letter - and it's long.",
    },
    Scene {
        title: "A comment remembered in other words",
        path: "cache.ts",
        file: "export class Cache {\n  // Entries older than this are dropped on access.\n  private ttl = 60;\n\n  get(key: string) {\n    return this.map.get(key);\n  }\n}\n",
        old: "  // Drop entries that are older than this.\n  private ttl = 60;\n\n  get(key: string) {\n    return this.map.get(key);",
        new: "  // Drop entries that are older than this.\n  private ttl = 60;\n\n  get(key: string) {\n    return this.fresh(key);",
    },
    Scene {
        title: "\"... existing code ...\" in the middle",
        path: "user.py",
        file: "class User:\n    def __init__(self, name):\n        self.name = name\n        self.roles = []\n        self.seen = None\n\n    def greet(self):\n        return f\"Hi {self.name}\"\n",
        old: "    def __init__(self, name):\n        self.name = name\n        # ... existing code ...\n\n    def greet(self):\n        return f\"Hi {self.name}\"",
        new: "    def __init__(self, name):\n        self.name = name.strip()\n        # ... existing code ...\n\n    def greet(self):\n        return f\"Hello {self.name}\"",
    },
    Scene {
        title: "Windows line endings",
        path: "setup.ini",
        file: "[server]\r\nhost = localhost\r\nport = 80\r\n",
        old: "host = localhost\nport = 80\n",
        new: "host = localhost\nport = 8080\ntls = on\n",
    },
    Scene {
        title: "A statement with its line breaks elsewhere",
        path: "query.js",
        file: "const rows = await db.query(\n  sql, [id],\n  { timeout: 500 });\nrender(rows);\n",
        old: "const rows = await db.query(sql, [id], { timeout: 500 });\nrender(rows);",
        new: "const rows = await db.query(sql, [id], { timeout: 900 });\nrender(rows);",
    },
    Scene {
        title: "Refused: a number in the changed line is stale",
        path: "limits.go",
        file: "package limits\n\nconst (\n\tMaxConns = 512\n\tMaxIdle  = 30\n\tMaxBody  = 1 << 20\n)\n",
        old: "const (\n\tMaxConns = 256\n\tMaxIdle  = 30\n\tMaxBody  = 1 << 20\n)",
        new: "const (\n\tMaxConns = 1024\n\tMaxIdle  = 30\n\tMaxBody  = 1 << 20\n)",
    },
    Scene {
        title: "Refused: two places fit equally well",
        path: "routes.rb",
        file: "get '/a' do\n  check!\n  render :a\nend\n\nget '/b' do\n  check!\n  render :b\nend\n",
        old: "check!",
        new: "check!(strict: true)",
    },
    Scene {
        title: "Refused: the edit was made already",
        path: "done.py",
        file: "def area(r):\n    return math.pi * r ** 2\n",
        old: "    return 3.14 * r * r",
        new: "    return math.pi * r ** 2",
    },
    Scene {
        title: "Refused: a placeholder that would delete code",
        path: "app.js",
        file: "function boot() {\n  load();\n  connect();\n  render();\n}\n",
        old: "  load();\n  connect();\n  render();",
        new: "  load({ fast: true });\n  // ... rest of the function ...",
    },
];
