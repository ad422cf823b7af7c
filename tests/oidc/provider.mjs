// A real OpenID provider with two people, whose sign-in form has one field.
// Usage: node provider.mjs PORT REDIRECT_URL; prints `ready` when it answers.
import { Provider } from 'oidc-provider';

const [port, redirectUrl] = process.argv.slice(2);
const people = { alice: ['reviewers', 'staff'], bob: ['staff'] };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'pinhole',
      client_secret: 'a-secret-of-the-tests',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  pkce: { required: () => true },
  claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
  cookies: { keys: ['a-key-of-the-tests'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: `${id}@example.test`, groups: people[id] }),
  }),
  // Nobody is asked for consent.
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope('openid profile');
    await grant.save();
    return grant;
  },
});

provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith('/interaction/')) return next();
  const login = ctx.query.login;
  if (login === undefined) {
    ctx.type = 'html';
    ctx.body = '<!doctype html><title>Who are you?</title><form><input name="login"><button>Sign in</button></form>';
    return;
  }
  const result = people[login]
    ? { login: { accountId: login } }
    : { error: 'access_denied', error_description: 'nobody of that name' };
  await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
  ctx.respond = false;
});

provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
