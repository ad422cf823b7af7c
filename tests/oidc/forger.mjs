// An issuer that signs whatever identity token its caller wishes for: the code is base64url of a JSON object whose
// members replace those of a good token. `alg` chooses the signature.
// Usage: node forger.mjs PORT; prints `ready` when it answers.
import http from 'node:http';
import { SignJWT, UnsecuredJWT, exportJWK, generateKeyPair } from 'jose';

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const keys = await generateKeyPair('ES256');
const other = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', use: 'sig', alg: 'ES256' };

const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'],
  authorization_response_iss_parameter_supported: true,
};

async function token(wishes) {
  const { alg = 'ES256', key = 'one', ...claims } = wishes;
  const now = Math.floor(Date.now() / 1000);
  const good = { iss: issuer, sub: 'forged', aud: 'pinhole', iat: now, exp: now + 60 };
  const payload = { ...good, ...claims };
  if (alg === 'none') return new UnsecuredJWT(payload).encode();
  const signed = new SignJWT(payload).setProtectedHeader({ alg, kid: 'one' });
  if (alg === 'HS256') return signed.sign(new TextEncoder().encode('a-secret-of-the-tests-that-is-long-enough'));
  return signed.sign(key === 'one' ? keys.privateKey : other.privateKey);
}

http
  .createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = async () => {
      if (request.url === '/.well-known/openid-configuration') return metadata;
      if (request.url === '/jwks') return { keys: [jwk] };
      if (request.url !== '/token') return undefined;
      const code = new URLSearchParams(body).get('code');
      const wishes = JSON.parse(Buffer.from(code, 'base64url').toString());
      return { access_token: 'x', token_type: 'Bearer', expires_in: 60, id_token: await token(wishes) };
    };
    const found = await answer();
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? {}));
  })
  .listen(port, '127.0.0.1', () => console.log('ready'));
