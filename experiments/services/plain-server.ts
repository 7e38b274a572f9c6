import { createServer } from "node:http";
import { listenAndAnnounce } from "../harness/within-service.ts";

// Contains no tested code: when it is late, the machine is busy.
listenAndAnnounce(createServer((_req, res) => void res.end()));
