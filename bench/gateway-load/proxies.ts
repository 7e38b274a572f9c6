import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Program, type ProgramName, startNginx, startServer } from "@svc/dev-services";
import { type Running, startNode } from "./node-process.ts";

/** A proxy that the bench measures. */
export interface Proxy {
  readonly name: string;
  /** The program that must be installed. Default: none. */
  readonly program?: ProgramName | Program;
  /** Starts the proxy in front of a server. */
  readonly start: (upstream: string) => Promise<Running>;
}

export const BASE = "http-proxy-middleware";
/** A second process of the base: its ratio shows how much two equal processes differ. */
export const CONTROL = "control";
/** The server without a proxy, which is the upper limit of every proxy. */
export const DIRECT = "direct";

const haproxy: Program = { title: "HAProxy", files: ["haproxy"], package: "haproxy" };

/** All proxies, in the order of the table. */
export const proxies: readonly Proxy[] = [
  { name: BASE, start: (upstream) => startNode("./proxy-process.ts", BASE, upstream) },
  { name: "svc", start: (upstream) => startNode("./proxy-process.ts", "svc", upstream) },
  { name: "nginx", program: "nginx", start: startNginxProxy },
  { name: "haproxy", program: haproxy, start: startHaproxy },
  { name: CONTROL, start: (upstream) => startNode("./proxy-process.ts", BASE, upstream) },
  { name: DIRECT, start: direct },
];

function startNginxProxy(upstream: string): Promise<Running> {
  const { host } = new URL(upstream);
  return startNginx({
    // By default, both sides close a connection after a thousand requests, which no other proxy does.
    http: (port) => `
keepalive_requests 1000000000;
upstream service { server ${host}; keepalive 64; keepalive_requests 1000000000; }
server {
  listen 127.0.0.1:${port};
  location / {
    proxy_pass http://service;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host;
  }
}`,
  });
}

function startHaproxy(upstream: string): Promise<Running> {
  return startServer({
    program: haproxy,
    args: (port, folder) => {
      const file = join(folder, "haproxy.cfg");
      writeFileSync(file, haproxySettings(port, new URL(upstream).host));
      return ["-db", "-f", file];
    },
    signal: "SIGTERM",
    url: (port) => `http://127.0.0.1:${port}`,
  });
}

function haproxySettings(port: number, upstream: string): string {
  return `
global
  nbthread 1
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option forwardfor
frontend clients
  bind 127.0.0.1:${port}
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  default_backend service
backend service
  server one ${upstream}
`;
}

async function direct(url: string): Promise<Running> {
  return { url, pid: undefined, [Symbol.asyncDispose]: async () => undefined };
}
