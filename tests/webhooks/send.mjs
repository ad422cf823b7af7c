// Sends one delivery, signed by a package that is not ours; its body is standard input.
// Usage: node send.mjs URL SECRET ID [OLD-SECRET]; prints {"status": …, "body": …}.
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';

const [url, secret, id, old] = process.argv.slice(2);
const body = readFileSync(0, 'utf8');
const now = new Date();
const signatures = [secret, old].filter(Boolean).map((each) => new Webhook(each).sign(id, now, body));
const answer = await fetch(url, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': Math.floor(now.getTime() / 1000).toString(),
    'webhook-signature': signatures.join(' '),
  },
  body,
});
console.log(JSON.stringify({ status: answer.status, body: await answer.json() }));
