import { registerHooks } from 'node:module';
import { ts } from '@ts-morph/common';

// Preloaded into openapi-typescript (`node --import`), which needs the JavaScript API of TypeScript 5: TypeScript 7 has
// none. A second `typescript` package would replace the `tsc` of this repository, so it gets the API that ts-morph
// bundles.

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'typescript' ? { url: import.meta.url, shortCircuit: true } : next(specifier, context),
});

export default ts;
