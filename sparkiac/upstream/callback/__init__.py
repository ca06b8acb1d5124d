"""The folder of the plugin that Ansible loads for `sparkiac apply`; Ansible finds it by its file name."""
