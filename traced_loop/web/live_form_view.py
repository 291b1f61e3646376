"""The way to a run with a real model: what to ask, then where that goes and what it may cost, then its beginning.

The key is typed on the second page, beside the address that it goes to. It is taken out of the form at once and goes
into the model of this one run only.
"""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.errors import UsageError
from traced_loop.redaction.held_secrets import hold_secret
from traced_loop.redaction.own_secrets import MIN_LENGTH
from traced_loop.views.visible import cut
from traced_loop.web.answers import KEY_FIELD, back, form_of, page, typed_key
from traced_loop.web.asked_loop import asked_loop, known_price
from traced_loop.web.highest_cost import highest_cost
from traced_loop.web.live_form import (
    MAX_MODEL,
    MAX_PROMPT,
    LiveForm,
    Wrong,
    definitions,
    every_field,
    first_fields,
    offered_tools,
    read_form,
)
from traced_loop.web.provider_choices import ProviderChoice, provider_choices
from traced_loop.web.site import site_of

_MAX_TITLE: Final = 300
"""Characters of the prompt by which its run is known on the page."""
_ONCE: Final = "once"


def routes() -> list[Route]:
    """The two pages and the beginning."""
    return [
        Route("/lab/live", _empty),
        Route("/lab/live", _asked, methods=["POST"]),
        Route("/lab/live/start", _start, methods=["POST"]),
    ]


def _empty(request: Request) -> Response:
    site, providers = site_of(request), _providers(request)
    fields = first_fields(site.offered, providers, site.environment.get("OPENAI_MODEL", ""))
    return _form_page(request, providers, fields)


def _asked(request: Request) -> Response:
    fields, providers = form_of(request), _providers(request)
    form = read_form(fields, site_of(request).offered, providers)
    if fields.get("do") == "change":
        return _form_page(request, providers, form.written)
    return _checked(request, form)


def _start(request: Request) -> Response:
    site, key, providers = site_of(request), typed_key(request), _providers(request)
    fields = form_of(request)
    form = read_form(fields, site.offered, providers)
    if form.wrong or form.provider is None:
        return _form_page(request, providers, form.written, form.wrong)
    wrong = _wrong_key(key, form, form.provider)
    if wrong is not None:
        return _checked(request, replace(form, wrong={KEY_FIELD: wrong}))
    let_go = hold_secret(key)
    try:
        loop = asked_loop(form, key, site.offered, site.folder)
        run = site.live.start(
            cut(form.prompt, _MAX_TITLE),
            lambda tell: loop.run(form.prompt, on_event=tell),
            loop.cancel,
            asked={**form.written, "address": form.provider.address},
            once=fields.get(_ONCE, ""),
            secret=key,
        )
    except UsageError as error:
        return _checked(request, replace(form, wrong={KEY_FIELD: Wrong(said=error.typed)}))
    finally:
        let_go()
    return back(run.address)


def _wrong_key(key: str, form: LiveForm, provider: ProviderChoice) -> Wrong | None:
    if not key and provider.needs_key and not provider.key_in:
        return Wrong(key="no_key")
    if len(key) >= MIN_LENGTH and key in form.prompt:
        return Wrong(key="key_in_prompt")
    return None


def _providers(request: Request) -> tuple[ProviderChoice, ...]:
    site = site_of(request)
    return provider_choices(site.offered, site.environment)


def _form_page(
    request: Request,
    providers: tuple[ProviderChoice, ...],
    fields: Mapping[str, str],
    wrong: Mapping[str, Wrong] | None = None,
) -> Response:
    tools = definitions(offered_tools(site_of(request).offered))
    return page(
        request,
        "lab_live_form.html",
        providers=providers,
        tools=tools,
        fields=every_field(fields, tools),
        wrong=wrong or {},
        longest={"prompt": MAX_PROMPT, "model": MAX_MODEL},
    )


def _checked(request: Request, form: LiveForm) -> Response:
    """The second page, or the first one where something on it is wrong."""
    site, provider = site_of(request), form.provider
    if provider is None or form.wrong.keys() - {KEY_FIELD}:
        return _form_page(request, _providers(request), form.written, form.wrong)
    pricing = known_price(form.model, provider, site.offered)
    if pricing is None and form.budget.cost_usd is not None:
        return _form_page(request, _providers(request), form.written, {"cost": Wrong(key="no_price")})
    return page(
        request,
        "lab_live_check.html",
        form=form,
        provider=provider,
        pricing=pricing,
        most=highest_cost(form.budget, pricing),
        once=secrets.token_urlsafe(12),
    )
