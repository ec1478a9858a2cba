import { readFragment, readPick, writeFragment } from './addresses.js';
import { elementOf } from './elements.js';

// The form below the stage, which chooses what plays.

const pickField = elementOf('pick', HTMLInputElement);
const pickFault = elementOf('picker-fault', HTMLElement);
const tokenField = elementOf('token', HTMLInputElement);

export function wirePicker() {
  elementOf('picker', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault();
    const { hash, ticket = '', fault } = readPick(pickField.value);
    pickFault.hidden = fault === null;
    pickFault.textContent = fault ?? '';
    if (hash === null) return;
    const before = readFragment();
    const known = before.hash === hash ? before.ticket : '';
    writeFragment({ hash, token: tokenField.value.trim(), ticket: ticket || known });
    elementOf('stage', HTMLElement).scrollIntoView({ block: 'nearest' });
  });
}

/** @param {{hash: string, token: string}} choice */
export function showInPicker({ hash, token }) {
  pickField.value = hash;
  tokenField.value = token;
}
