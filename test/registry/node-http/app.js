import { createServer } from "node:http";
import { health } from "@svc/health";
import { attachProblems, notFoundError, problemServerOptions, sendJson, sendProblem } from "@svc/problem";
import { requestId } from "@svc/request-id";

const identify = requestId();
const answerProbe = health({ service: "orders", version: "1.2.3", env: "local" });

export const server = createServer(problemServerOptions, (req, res) => {
  identify(req, res, () => {
    answerProbe(req, res, () => {
      if (req.url === "/orders/7") sendJson(req, res, 200, { id: "7", total: 42 });
      else sendProblem(req, res, notFoundError("there is no such order"));
    });
  });
});
attachProblems(server);
