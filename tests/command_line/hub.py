"""A hub like Hugging Face's, for tests of `vkformer download`: hub.py FOLDER serves FOLDER/OWNER/NAME/FILES.

Prints its address. What is in a file "gated" beside them is the token that a model wants. Large files (of 1 kB and more)
come from a second server, which takes no token. The first GET of a file "cut/NAME" is cut in its middle, "norange"
beside it means a server that knows no ranges, and bytes of "false/NAME" are not what the list says. Of "slow/NAME" half
comes and no more until the client leaves; "half" is printed then.
"""

import hashlib
import http.server
import json
import pathlib
import sys
import threading

COMMIT = "0123456789abcdef0123456789abcdef01234567"
folder = pathlib.Path(sys.argv[1])
cut = set()


def entry(root, path):
    content = path.read_bytes()
    known = {"rfilename": path.relative_to(root).as_posix(), "size": len(content)}
    known["blobId"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if len(content) >= 1000:
        known["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
    return known


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, text, *values):
        print(text % values, file=sys.stderr, flush=True)

    def reply(self, status, content=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        words = self.path.split("?")[0].strip("/").split("/")
        model = "/".join(words[2:4] if words[0] == "api" else words[:2])
        root = folder / model
        files = [p for p in sorted(root.rglob("*")) if p.is_file() and p.name not in ("gated", "norange")]
        token = root / "gated"
        if not files:
            self.reply(401, b"Invalid credentials", X_Error_Code="RepoNotFound")
        elif token.exists() and self.headers.get("Authorization") != f"Bearer {token.read_text().strip()}":
            self.reply(401, b"no", X_Error_Code="GatedRepo")
        elif words[0] == "api" and words[5:] not in (["main"], ["small"]):
            self.reply(404, b"no", X_Error_Code="RevisionNotFound")
        elif words[0] == "api":
            self.reply(200, json.dumps({"sha": COMMIT, "siblings": [entry(root, p) for p in files]}).encode())
        elif (root / "/".join(words[4:])).stat().st_size >= 1000:
            self.reply(302, Location=f"http://127.0.0.1:{store.server_port}{self.path}")
        else:
            self.reply(200, (root / "/".join(words[4:])).read_bytes())


class Store(Hub):
    def do_GET(self):
        words = self.path.strip("/").split("/")
        path = folder / "/".join(words[:2] + words[4:])
        content, first = path.read_bytes(), 0
        if self.headers.get("Authorization"):
            self.reply(400, b"a token")
            return
        if words[0] == "false":
            content = content[:-1] + b"?"
        if self.headers.get("Range") and not (folder / words[0] / words[1] / "norange").exists():
            first = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        if words[0] == "cut" and path not in cut:
            cut.add(path)
            self.wfile.write(content[first : len(content) // 2])
            self.close_connection = True
            return
        if words[0] == "slow":
            self.wfile.write(content[first : len(content) // 2])
            self.wfile.flush()
            print("half", flush=True)
            self.rfile.read(1)
            return
        self.wfile.write(content[first:])


hub, store = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) for kind in (Hub, Store))
threading.Thread(target=store.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{hub.server_port}", flush=True)
hub.serve_forever()
