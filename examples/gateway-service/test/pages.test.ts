import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createService, type Service, type ServiceOptions } from "@svc/express";
import { acceptWebSocket, echoFrames, listen, type Listening, until } from "@svc/test-support";
import { expect } from "chai";
import { testBrowser } from "../../full-service/test/browser/support/browser.ts";
import { accessibilityFaults, takeScreenshot } from "../../full-service/test/browser/support/looks.ts";
import { follow, headingOf } from "../../full-service/test/browser/support/steps.ts";

/** A web service with a form. Its pages use the paths that browsers see, behind the prefix `/shop`. */
function shop(publicDir: string): ServiceOptions {
  return {
    kind: "web",
    config: { toml: '[service]\nname = "shop"\nport = 0' },
    publicDir,
    errorPage: ({ status, title, detail }) => htmlOf(`${status} ${title}`, `<p>${detail}</p>`),
    routes(app) {
      app.get("/", (_req, res) => void res.send(htmlOf("Coffee", form)));
      app.post("/orders", (req, res) => {
        const fields = JSON.stringify(req.body).replaceAll("<", "&lt;");
        res.send(htmlOf("Thank you", `<p id="order">${fields}</p>`));
      });
    },
  };
}

const form = `<form method="post" action="/shop/orders"><p><label>Name <input name="name"></label></p>
<p><label><input type="checkbox" name="with" value="milk"> Milk</label></p>
<p><label><input type="checkbox" name="with" value="sugar"> Sugar</label></p><button>Order</button></form>`;

function htmlOf(title: string, main: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<link rel="stylesheet" href="/shop/style.css"></head><body><main><h1>${title}</h1>${main}</main></body></html>`;
}

/** The events of the sockets that {@link openSockets} has opened. */
interface Counts {
  echoes: number;
  readonly ends: number[];
}

/**
 * Opens WebSockets that each send a string when they are open, 50 at a time: a handshake has a time limit, and on a busy
 * machine the last of a thousand would exceed it. The browser runs it too, so it uses nothing else of this file.
 */
function openSockets({ address, count }: { readonly address: string; readonly count: number }): Counts {
  const counts: Counts = { echoes: 0, ends: [] };
  let begun = 0;
  function openNext(): void {
    if (begun === count) return;
    const text = `hello ${begun++}`;
    const socket = new WebSocket(address);
    let isOpen = false;
    socket.onopen = () => {
      isOpen = true;
      socket.send(text);
      openNext();
    };
    socket.onmessage = ({ data }) => (counts.echoes += data === text ? 1 : 0);
    socket.onclose = ({ code }) => {
      counts.ends.push(code);
      if (!isOpen) openNext();
    };
  }
  for (let n = 0; n < 50; n++) openNext();
  return Object.assign(globalThis, { counts }).counts;
}

async function started(options: ServiceOptions): Promise<Service> {
  const service = await createService({
    ...options,
    signals: false,
    logDestination: { write: () => undefined },
  });
  await service.start();
  return service;
}

describe("a gateway in front of a web service and a WebSocket service", function () {
  this.timeout(120_000);
  const browser = testBrowser();
  const folder = mkdtempSync(join(tmpdir(), "svc-public-"));
  const sockets: Socket[] = [];
  let echo: Listening;
  let web: Service;
  let door: Service;
  let origin = "";

  before(async () => {
    writeFileSync(join(folder, "style.css"), "h1 { color: rgb(0, 90, 60); }");
    web = await started(shop(folder));
    const server = createServer().on("upgrade", (req, socket: Socket) => {
      sockets.push(socket.on("error", () => undefined));
      acceptWebSocket(req, socket);
      echoFrames(socket);
    });
    echo = await listen(server);
    const toml = `
[service]
name = "door"
port = 0
[plugins]
enabled = ["gateway"]
[plugin.gateway.routes.shop]
prefix = "/shop"
targets = ["http://127.0.0.1:${web.address?.port}"]
strip_prefix = true
preserve_host = true
[plugin.gateway.routes.echo]
prefix = "/echo"
targets = ["${echo.url}"]
`;
    door = await started({ kind: "gateway", config: { toml } });
    origin = `http://localhost:${door.address?.port}`;
  });

  after(async () => {
    await door?.stop();
    await web?.stop();
    for (const socket of sockets) socket.destroy();
    await echo?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  it("PROF-7 shows a form with styles and without accessibility faults, and accepts it from its own page", async () => {
    const { page } = await browser.visitor({ baseURL: origin });
    await page.goto("/shop/");
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await takeScreenshot(page, "web-form");
    const color = await page.evaluate<string>('getComputedStyle(document.querySelector("h1")).color');
    expect(color).to.equal("rgb(0, 90, 60)");
    await page.getByLabel("Name").fill("Zoë & <Jim>");
    await page.getByLabel("Milk").check();
    await page.getByLabel("Sugar").check();
    await follow(page.getByRole("button", { name: "Order" }));
    expect(await headingOf(page)).to.equal("Thank you");
    expect(await page.locator("#order").textContent()).to.equal(
      '{"name":"Zoë & <Jim>","with":["milk","sugar"]}',
    );
  });

  it("PROF-7 shows the error page for a form of another origin and for a path that does not exist", async () => {
    const { page } = await browser.visitor();
    // The same host with another port is another origin, although it is the same site.
    await using other = await listen((_req, res) => {
      res.setHeader("Content-Type", "text/html; charset=utf-8");
      res.end(htmlOf("Free coffee", form.replace("/shop/orders", `${origin}/shop/orders`)));
    });
    await page.goto(other.url.replace("127.0.0.1", "localhost"));
    await follow(page.getByRole("button", { name: "Order" }));
    expect(await headingOf(page)).to.equal("403 Forbidden");
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await takeScreenshot(page, "web-error");
    await page.goto(`${origin}/shop/nothing`);
    expect(await headingOf(page)).to.equal("404 Not Found");
  });

  it("echoes over 1,000 WebSockets concurrently, including those of a browser, and closes them with 1001", async () => {
    const { page } = await browser.visitor();
    const address = `${origin.replace("http", "ws")}/echo`;
    await page.goto(`${origin}/shop/`);
    const here = openSockets({ address, count: 980 });
    const inPage = (): Promise<Counts> => page.evaluate<Counts>("globalThis.counts");
    await page.evaluate(openSockets, { address, count: 20 });
    // While seven busy processes ran on two cores, the sockets took 20 s, most of it for the handshakes of the browser.
    const patience = 90_000;
    await until("1,000 WebSockets", () => sockets.length === 1000, patience);
    await until("all echoes", async () => here.echoes + (await inPage()).echoes === 1000, patience);
    await door.stop();
    await until("all ends", async () => here.ends.length + (await inPage()).ends.length === 1000, patience);
    expect(new Set([...here.ends, ...(await inPage()).ends])).to.deep.equal(new Set([1001]));
  });
});
