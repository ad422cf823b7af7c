// Adds a credential to every request and passes it on as it is, Host and Origin included: the conformance tests cannot
// send one themselves. Started with the port of the server and with the token in PINHOLE_TOKEN; prints its own port.
import http from "node:http";

const port = Number(process.argv[2]);
const authorization = `Bearer ${process.env.PINHOLE_TOKEN}`;

const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization };
  const { method, url: path } = request;
  const onward = http.request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

proxy.listen(0, "127.0.0.1", () => console.log(proxy.address().port));
// Its starter holds the other end: when that goes away, so does the proxy.
process.stdin.resume().on("end", () => process.exit(0));
