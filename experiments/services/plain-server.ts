import { createServer } from "node:http";
import { listenAndAnnounce } from "../harness/within-service.ts";

// Runs no tested code: when its response is late, the machine is busy.
listenAndAnnounce(createServer((_req, res) => void res.end()));
