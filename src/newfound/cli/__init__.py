"""The command line. A command parses its options, calls one workflow and prints the result.

No other package prints, or names an option in a message.
"""

from newfound.cli.app import app as app
from newfound.cli.app import main as main
