import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

/** Returns the block `http` of an nginx that responds to the paths of the suite as httpbin does. */
export function nginxSite(port: number, folder: string): string {
  writeFiles(folder);
  return `
default_type application/octet-stream;
server {
  listen 127.0.0.1:${port};
  root ${folder};
  client_max_body_size 2m;

  location = /get { default_type application/json; return 200 '{"args":{"number":"$arg_number"}}'; }
  location = /headers { default_type application/json; return 200 '{"headers":{"X-Large":"$http_x_large"}}'; }
  location = /html { default_type text/html; }
  location = /gzip { default_type application/json; add_header Content-Encoding gzip; }
  location = /status/404 { return 404; }
  location = /status/500 { return 500; }
  location = /redirect-to { return 302 /get; }
  location = /response-headers { add_header large $arg_large; return 200 ""; }
  location = /cookies/set {
    add_header Set-Cookie "a=1; Path=/";
    add_header Set-Cookie "b=2; Path=/";
    return 302 /cookies;
  }
  # A response that server-side includes may change has no length, so nginx sends it in chunks.
  location /stream-bytes/ { ssi on; ssi_types *; }
  # The request of the proxy has the length of the body that nginx has read.
  location = /post { proxy_pass http://127.0.0.1:${port}/counted; }
  location = /counted { default_type application/json; return 200 '{"bytes":"$http_content_length"}'; }

  location = /unsized { ssi on; ssi_types *; chunked_transfer_encoding off; }
  location = /compressed { default_type text/plain; gzip on; gzip_types *; gzip_proxied any; gzip_vary on; }
  location = /connection { keepalive_requests 5; return 200 $connection; }
  location = /target { return 200 $request_uri; }
  location /uploads/ { dav_methods PUT DELETE; create_full_put_path on; }
}`;
}

function writeFiles(folder: string): void {
  const files: Readonly<Record<string, string | Buffer>> = {
    "etag/abc": "cached",
    "range/1024": Buffer.alloc(1024, "abcdefghijklmnopqrstuvwxyz"),
    html: "<h1>Moby-Dick</h1>",
    gzip: gzipSync('{"gzipped":true}'),
    "stream-bytes/20000": randomBytes(20_000),
    unsized: Buffer.alloc(20_000, "unsized "),
    compressed: Buffer.alloc(20_000, "compressed "),
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}
