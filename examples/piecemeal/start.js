import { createServer } from "node:http";
import { attachProblems } from "@svc/problem";
import { createApp } from "./app.js";

const server = createServer(await createApp());
attachProblems(server); // @svc/problem: requests that Node refuses before any middleware get a problem too
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.error(`http://127.0.0.1:${server.address().port}/greetings/you`);
});
